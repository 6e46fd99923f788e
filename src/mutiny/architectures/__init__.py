"""The networks of the papers and of the demo, as plain modules that return logits."""

from mutiny.architectures.digits import DigitsCnn
from mutiny.architectures.lenet import LeNet1, LeNet5
from mutiny.architectures.mnist_cnn import MnistCnn
from mutiny.architectures.resnet import ResNet20
from mutiny.architectures.vgg import VGG16

__all__ = ["DigitsCnn", "LeNet1", "LeNet5", "MnistCnn", "ResNet20", "VGG16"]
